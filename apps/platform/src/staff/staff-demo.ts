/** The first admin while developing: one of the people whom the development issuer lets anybody be. */
import type { ControlPlaneClient } from '@freehold/control-plane/client';

const ADMIN = { email: 'ada@example.test', name: 'Ada Lovelace', role: 'admin' } as const;

/** Puts them on an empty roster; one that somebody has touched is left as it is. Never for production. */
export async function ensureDemoAdmin(client: ControlPlaneClient): Promise<void> {
  const { items } = await client.staff.list({ query: { limit: 1 } });
  if (items.length === 0) await client.staff.put({ body: ADMIN });
}
