// breaks: runtime-imports-ours
import * as it from '@countersign/contracts';
export const used = it;
