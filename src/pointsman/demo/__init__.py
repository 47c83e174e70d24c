"""A lifelike feed for trying things out: a small bank whose customers and accounts keep changing."""
