// breaks: domain-imports-ours
import * as it from '@countersign/text';
export const used = it;
