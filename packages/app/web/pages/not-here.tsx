/** An address without a page, or a record that is not there for this reader: both look alike. */
import type { DeclaredKind } from '../../src/wire/declared.ts';
import { Link, PageHead } from '../components/basics.tsx';
import { t } from '../lib/language.ts';

export function NotHere({ kind }: { readonly kind?: DeclaredKind }) {
  return (
    <>
      <PageHead title={t.notHere} />
      <p>{t.notHereWhat}</p>
      <p>
        <Link className="button plain" to={kind?.page ?? '/'}>
          {kind ? t.backToList(kind.several) : t.home}
        </Link>
      </p>
    </>
  );
}
