return { name = "profiler", fields = { { config = { type = "record", fields = {} } } } }
