/** What the platform remembers about itself: so far, a proof of the key that secrets are sealed under. */
import { defineUnit, type UnitContext } from '@freehold/store';

export const PLATFORM_KEY = 'main';

/** The unit: kind `platform`, one of it. It is in every archive, so that a restored directory knows its key too. */
export const platformUnit = defineUnit({
  kind: 'platform',
  migrations: [
    {
      name: 'platform',
      migrations: [
        {
          version: 1,
          name: 'proof of the sealing key',
          sql: `
CREATE TABLE seal_proof (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  sealed TEXT NOT NULL
) STRICT;
`,
        },
      ],
    },
  ],
  queries: ['sealProof'],
  open: ({ db }: UnitContext) => ({
    /** What was sealed to be opened again, or null when nothing ever was. */
    sealProof: (): string | null =>
      db.get<{ sealed: string }>('SELECT sealed FROM seal_proof WHERE only_row = 1')?.sealed ?? null,
    saveSealProof: ({ sealed }: { readonly sealed: string }): null => {
      db.run(
        'INSERT INTO seal_proof (only_row, sealed) VALUES (1, ?) ON CONFLICT (only_row) DO UPDATE SET sealed = excluded.sealed',
        sealed,
      );
      return null;
    },
  }),
});
