// breaks: read-model-specs-import-npm
import * as it from 'commander';
export const used = it;
