// breaks: text-imports-node
import * as it from 'node:crypto';
export const used = it;
