/** The failure of calls to an engine that is closing, or closed. */
import { PlatformError } from '@freehold/contracts';

export function shuttingDown(): PlatformError {
  return new PlatformError('unavailable', 'The platform is shutting down. Try again in a moment.', {
    reason: 'shutting_down',
    headers: { 'retry-after': '5' },
  });
}
