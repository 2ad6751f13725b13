// breaks: message-bus-imports-npm
import * as it from 'commander';
export const used = it;
