/* Searches in the reader's own browser: the index came with the page. */
const index = MiniSearch.loadJSON(window.searchIndex, {
  fields: ['title', 'text'],
  storeFields: ['title', 'page'],
});
const field = document.getElementById('search');
const list = document.getElementById('hits');

field.addEventListener('input', () => {
  const hits = index
    .search(field.value, { prefix: true, fuzzy: 0.15, boost: { title: 3 }, combineWith: 'AND' })
    .slice(0, 20);
  list.hidden = field.value === '';
  list.replaceChildren(
    ...hits.map(({ id, title, page }) => {
      const link = document.createElement('a');
      link.href = list.dataset.up + id;
      link.textContent = title === page ? title : `${page}: ${title}`;
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
});
