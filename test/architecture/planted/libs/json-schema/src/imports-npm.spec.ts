// breaks: json-schema-specs-import-npm
import * as it from 'commander';
export const used = it;
