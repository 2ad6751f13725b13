import { z } from 'zod';
import { shownTextSchema } from './primitives.js';

/** `POST /v1/log/continue`. */
export const continueLogSchema = z
  .strictObject({ reason: shownTextSchema.meta({ description: 'Why the log goes on. It is recorded.' }) })
  .meta({ id: 'ContinueLog' });
