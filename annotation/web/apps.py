from django.contrib.admin.apps import AdminConfig


class DashboardConfig(AdminConfig):
    default_site = "annotation.web.base.admin_site.DashboardSite"
