// breaks: domain-imports-ours
import * as it from '@countersign/shell';
export const used = it;
