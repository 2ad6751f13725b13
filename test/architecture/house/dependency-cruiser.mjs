import { cruiseOptions, forbidden } from '../../architecture/rules.mjs';

export default {
  forbidden,
  options: { ...cruiseOptions, baseDir: import.meta.dirname, tsConfig: { fileName: 'tsconfig.json' } },
};
