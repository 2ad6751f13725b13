// breaks: json-schema-imports-types-only
import * as it from '@countersign/contracts';
export const used = it;
