import { channelContract } from './channel.contract.js';
import { openSlack, openSlackSocket, openTelegram, openWebhook } from './testing/opened.js';

// The channels of mail and of Teams are proved in the gateway: it has the page of the one, and checks the tokens of the other.
describe('the Slack channel', () => channelContract(openSlack));
describe('the Slack channel in socket mode', () => channelContract(openSlackSocket));
describe('the Telegram channel', () => channelContract(openTelegram));
describe('the webhook channel', () => channelContract(openWebhook, { answers: false }));
