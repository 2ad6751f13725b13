// breaks: text-imports-ours
import * as it from '@countersign/runtime';
export const used = it;
