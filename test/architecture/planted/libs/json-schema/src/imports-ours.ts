// breaks: json-schema-imports-ours
import * as it from '@countersign/runtime';
export const used = it;
