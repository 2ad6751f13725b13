// breaks: @typescript-eslint/no-restricted-imports
import { start } from '@countersign/gateway';
export const used = start;
