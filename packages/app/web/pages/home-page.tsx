/** The first page: the beginning of each list that the reader may open, and the operations about no record. */

import { PageHead } from '../components/basics.tsx';
import { OperationButton } from '../components/operation-button.tsx';
import { ShortList } from '../components/short-list.tsx';
import { generalOperations, operationOf, useApp } from '../lib/app-context.tsx';
import { t } from '../lib/language.ts';

export function HomePage() {
  const { declaration, around } = useApp();
  const kinds = declaration.kinds.filter(({ type }) => operationOf(declaration, `${type}/list`));
  const general = generalOperations(declaration, null);
  return (
    <>
      <PageHead title={t.welcome(around.business)}>
        {general.map((operation) => (
          <OperationButton key={operation.name} operation={operation} onDone={() => undefined} />
        ))}
      </PageHead>
      {kinds.length === 0 && general.length === 0 && <p>{t.nothingForYou}</p>}
      <div className="lists">
        {kinds.map((kind) => (
          <ShortList key={kind.type} kind={kind} />
        ))}
      </div>
    </>
  );
}
