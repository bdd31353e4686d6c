"""A browser script that lists the texts of a page with too little contrast."""

# Every piece of text against the colour behind it, after WCAG 2.2 (1.4.3, level AA). Colours are
# read back from a canvas, so that color-mix() and light-dark() are what the browser makes of them.
CONTRAST_SCRIPT = """() => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    brush.clearRect(0, 0, 1, 1); brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return Array.from(brush.getImageData(0, 0, 1, 1).data);
  };
  const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (node.closest('script, style, noscript, .sr, .skip, option, :disabled')) continue;
    const style = getComputedStyle(node);
    const ink = rgba(node.closest('svg') ? style.fill : style.color);
    const [a, b] = [luminance(ink), luminance(behind(node))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) {
      poor.push([walk.currentNode.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
    }
  }
  return poor;
}"""
