import { fileURLToPath } from 'node:url';

export default {
  // This folder, and not the clone around it, is the application.
  turbopack: { root: fileURLToPath(new URL('.', import.meta.url)) },
  // The page reads what is pending each second.
  logging: { incomingRequests: { ignore: [/^\/api\/approvals\//] } },
};
