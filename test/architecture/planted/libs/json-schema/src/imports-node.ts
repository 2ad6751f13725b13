// breaks: json-schema-imports-node
import * as it from 'node:http';
export const used = it;
