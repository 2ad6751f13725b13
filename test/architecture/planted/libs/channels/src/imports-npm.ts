// breaks: channels-imports-npm
import * as it from 'commander';
export const used = it;
