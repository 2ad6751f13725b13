import { join } from 'node:path';

const ofFolder = (name) => join(import.meta.dirname, name);
// One React for the page and for the card.
const alias = Object.fromEntries(['react', 'react-dom'].map((name) => [name, join(process.env.REACT_MODULES, name)]));

export default {
  input: { page: ofFolder('page.mjs'), headless: ofFolder('headless.mjs') },
  platform: 'browser',
  resolve: { alias },
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
};
