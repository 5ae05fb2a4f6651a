/** The appointment form on the trader's own web site (spec 4.6). */
import type { PublicSurface } from '@freehold/app';
import type { DescribedRoute } from '@freehold/vertical-host';
import { z } from 'zod';
import { BOOKING } from '../lib/manifest.ts';
import { requestOperations } from './operations.ts';

/** The routes of the form, for the API's document. */
export const appointmentRoutes: readonly DescribedRoute[] = [
  {
    name: 'appointment/form',
    tag: 'request',
    method: 'GET',
    path: '/public/appointments',
    summary: 'Read what the form shows',
    answer: z.object({ business: z.string() }),
    security: 'none',
  },
  {
    name: 'appointment/ask',
    tag: 'request',
    method: 'POST',
    path: '/public/appointments',
    summary: 'Ask for an appointment',
    description: 'Asks for an appointment, from a page of a site that is listed. Needs no credential.',
    body: requestOperations['request/ask'].input,
    answer: z.object({ status: z.literal('received') }),
    status: 201,
    security: 'none',
  },
];

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
