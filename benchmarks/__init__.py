"""Named as a package, since pysbd installs a folder of this name beside itself."""
