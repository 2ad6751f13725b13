import { z } from 'zod';
import { textSchema } from './primitives.js';

/** `POST /v1/log/continue`. */
export const continueLogSchema = z
  .strictObject({ reason: textSchema.min(1).meta({ description: 'Why the log goes on. It is recorded.' }) })
  .meta({ id: 'ContinueLog' });
