from annotation.admin import accounts, records  # noqa: F401  (Django imports this package to find what is registered)
