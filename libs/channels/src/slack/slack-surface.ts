import type { ChannelConfigOf } from '../config/load-channels.js';
import { answered, headerOf } from '../surface.js';
import type { Surface, SurfaceRequest } from '../surface.js';
import { createSlackInteractions } from './slack-interactions.js';
import type { SlackPorts } from './slack-interactions.js';
import { isSignedBySlack } from './slack-signature.js';

/**
 * Receives presses and modals of one Slack app as signed form posts, which Slack does not send again. Nothing is parsed before the signature is
 * verified.
 */
export function createSlackSurface(config: ChannelConfigOf<'slack'>, ports: SlackPorts): Surface {
  const interactions = createSlackInteractions(config, ports, 200);
  return {
    channelId: config.id,
    type: 'slack',
    receive: async (request) => {
      if (!isProved(request, config, ports)) {
        ports.log.warn({ channelId: config.id }, 'refused: a request to the Slack surface is not signed by Slack');
        return answered(401);
      }
      const payloadText = new URLSearchParams(Buffer.from(request.body).toString()).get('payload');
      return payloadText === null ? answered(200) : interactions.take(payloadText);
    },
  };
}

function isProved(
  request: SurfaceRequest,
  { signingSecret }: ChannelConfigOf<'slack'>,
  { clock }: SlackPorts,
): boolean {
  const timestamp = headerOf(request, 'x-slack-request-timestamp');
  const signature = headerOf(request, 'x-slack-signature');
  return (
    signingSecret !== undefined && isSignedBySlack(request.body, { timestamp, signature }, signingSecret, clock.now())
  );
}
