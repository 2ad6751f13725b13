// breaks: channels-imports-node
import * as it from 'node:child_process';
export const used = it;
