import { cruiseOptions, forbidden } from './rules.mjs';

export default {
  forbidden,
  options: {
    ...cruiseOptions,
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: {
      path: [
        '^(libs|apps|integrations)/(adapters/)?[^/]+/(bundle|dist|node_modules)/',
        '^integrations/adapters/node_modules/',
        '^test/architecture/house/',
        // They import what exists only after a generator ran.
        '^test/clients/(journey\\.mts|models\\.mjs)$',
      ],
    },
  },
};
