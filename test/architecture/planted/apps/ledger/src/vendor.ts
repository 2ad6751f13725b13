// breaks: vendor-kafkajs
import * as it from 'kafkajs';
export const used = it;
