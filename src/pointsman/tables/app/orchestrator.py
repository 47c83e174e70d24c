"""Run by Deephaven when it starts; what a name is bound to here, viewers can see. Hence one call and no names."""

__import__("pointsman.tables.application", fromlist=["export"]).export()
