// breaks: inbox-imports-ours
import * as it from '@countersign/runtime';
export const used = it;
