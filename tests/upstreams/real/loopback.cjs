// Preloaded into a server of other people: what it would send over HTTPS goes to the simulator at SIMULATOR instead.
const http = require("node:http");
const https = require("node:https");
const { hostname, port } = new URL(process.env.SIMULATOR);

https.request = (options, callback) =>
  http.request({ method: options.method, path: options.path, headers: options.headers, hostname, port }, callback);
