/** The development outbox, for whoever sits at the machine alone: who reads it can enter every account. */
import { PlatformError } from '@freehold/contracts';
import { refusal } from '@freehold/contracts/http';
import type { Outbox } from '@freehold/mail';
import type { Client } from '../network/router.ts';
import { isLoopbackAddress } from '../settings/address-list.ts';

export interface LocalOutbox {
  /** Answers its pages; from anywhere else, or under a name that was made to lead here, a refusal. */
  handle(request: Request, client: Client): Response | Promise<Response>;
}

/** Puts the lock into the door itself, so that no way of mounting it leaves it open. */
export function makeLocalOutbox(outbox: Pick<Outbox, 'handle'>): LocalOutbox {
  return {
    handle: (request, { clientAddress }) =>
      isFromThisMachine(request, clientAddress)
        ? outbox.handle(request)
        : refusal(
            request.headers,
            new PlatformError('forbidden', 'The outbox is read on the machine that the platform runs on.', {
              reason: 'not_this_machine',
            }),
          ),
  };
}

/** The names under which a browser on this machine asks for it; any other was made to lead here. */
const OWN_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
/** What a proxy writes. A proxy on this machine has this machine's address, whoever stands behind it. */
const RELAYED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

function isFromThisMachine(request: Request, clientAddress: string | null): boolean {
  return (
    clientAddress !== null &&
    isLoopbackAddress(clientAddress) &&
    OWN_NAMES.has(new URL(request.url).hostname) &&
    !RELAYED.some((name) => request.headers.has(name))
  );
}
