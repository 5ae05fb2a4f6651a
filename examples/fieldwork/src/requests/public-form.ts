/** The appointment form on the trader's own web site (spec 4.6). */
import type { PublicSurface } from '@freehold/app';
import { BOOKING } from '../lib/manifest.ts';

export const appointments: PublicSurface = {
  service: BOOKING,
  sites: { operation: 'widget/get' },
  script: { path: '/embed/appointments.js' },
  // More appointments than the people behind one address ask of one business in a day.
  limit: { times: 20, windowSeconds: 86_400 },
  routes: (route, { limit, businessName }) => {
    route.get('/appointments', async (c) => c.json({ business: await businessName(c) }));
    route.post('/appointments', async (c, { actor, body }) => {
      // One visitor could close the form for all others: the list of those who wait has an end.
      limit(c);
      await actor.invoke('request/ask', body);
      // The id of a request is nothing to a visitor, and nothing that he could be shown anything for.
      return c.json({ status: 'received' }, 201);
    });
  },
};
