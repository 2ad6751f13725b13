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
        // Its packages, such as Next, are not those of the clone.
        '^examples/next-chat/',
        // They import what exists only after a generator ran.
        '^test/clients/(journey\\.mts|models\\.mjs)$',
      ],
    },
  },
};
