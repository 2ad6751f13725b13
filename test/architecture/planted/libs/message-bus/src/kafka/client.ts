// breaks: nothing
import * as it from 'kafkajs';
export const client = it;
