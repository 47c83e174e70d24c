"""What Pointsman is made of: every package, page library and jar, as a bill of materials; and its audit."""
