// breaks: nothing
import * as it from '@eventstore/db-client';
export const client = it;
