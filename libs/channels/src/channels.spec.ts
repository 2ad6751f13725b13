import { channelContract } from './channel.contract.js';
import { openSlack, openSlackSocket, openTelegram, openWebhook } from './testing/opened.js';

// The mail channel is proved in the gateway, whose page is its way back.
describe('the Slack channel', () => channelContract(openSlack));
describe('the Slack channel in socket mode', () => channelContract(openSlackSocket));
describe('the Telegram channel', () => channelContract(openTelegram));
describe('the webhook channel', () => channelContract(openWebhook, { answers: false }));
