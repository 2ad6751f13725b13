import { cruiseOptions, forbidden } from './rules.mjs';

export default {
  forbidden,
  options: {
    ...cruiseOptions,
    tsConfig: { fileName: 'tsconfig.check.json' },
    exclude: { path: ['/dist/', '^test/architecture/planted/'] },
  },
};
