/** The page's script: filters the list of operations, and opens the group of the operation that is addressed. */
export const SCRIPT = `
(() => {
  const nav = document.querySelector('nav');
  const search = nav.querySelector('.search');
  const input = search.querySelector('input');
  const found = nav.querySelector('.found');
  const links = [...nav.querySelectorAll('li > a')];
  search.hidden = false;
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(' ').filter(Boolean);
    let count = 0;
    for (const link of links) {
      const text = (link.dataset.find + ' ' + link.textContent).toLowerCase();
      const fits = words.every((word) => text.includes(word));
      link.parentElement.hidden = !fits;
      if (fits) count += 1;
    }
    for (const group of nav.querySelectorAll('details')) {
      group.hidden = !group.querySelector('li:not([hidden])');
      group.open = words.length > 0;
    }
    found.textContent = words.length > 0 ? count + ' found' : '';
  });
  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    for (const link of links) {
      const isCurrent = id !== '' && link.hash === '#' + id;
      if (isCurrent) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
      if (isCurrent) link.closest('details').open = true;
    }
  };
  addEventListener('hashchange', open);
  open();
})();
`;
