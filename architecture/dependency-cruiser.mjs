import { cruiseOptions, forbidden } from './rules.mjs';

export default {
  forbidden,
  options: {
    ...cruiseOptions,
    tsConfig: { fileName: 'tsconfig.check.json' },
    exclude: { path: ['^(libs|apps)/[^/]+/(bundle|dist|node_modules)/', '^test/architecture/house/'] },
  },
};
