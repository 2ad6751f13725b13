// breaks: json-schema-imports-npm
import * as it from 'zod';
export const used = it;
