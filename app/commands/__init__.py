"""Commands that start or change the service, a module each. `app.service_commands` imports only the one that runs."""
