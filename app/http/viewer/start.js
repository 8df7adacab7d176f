"use strict";
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  // Otherwise the viewer asks a service on the internet to validate documents.
  validatorUrl: null,
});
