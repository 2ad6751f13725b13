import { join } from 'node:path';

export default {
  input: join(import.meta.dirname, 'page.mjs'),
  platform: 'browser',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
};
