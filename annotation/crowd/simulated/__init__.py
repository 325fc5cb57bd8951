"""People who work on the emulator by its pages; no adapter of the port."""
