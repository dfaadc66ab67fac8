"""The style of figures."""


def test_a_style_may_be_changed_for_one_figure():
    import matplotlib

    from footfall.draw.style import style

    before = matplotlib.rcParams["legend.fontsize"]
    with style(legend_fontsize=8.5, axes_titlelocation="left"):
        assert matplotlib.rcParams["legend.fontsize"] == 8.5
        assert matplotlib.rcParams["axes.titlelocation"] == "left"
        assert matplotlib.rcParams["axes.grid"]
    assert matplotlib.rcParams["legend.fontsize"] == before
